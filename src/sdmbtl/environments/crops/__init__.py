"""Crops: weather, varieties, soil and the growth of a field, for the families Crop and CropPlanning."""
