"""Weather, varieties and the growth of a field, for the families Crop and CropPlanning."""
