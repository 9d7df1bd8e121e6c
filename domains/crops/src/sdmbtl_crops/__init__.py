"""Crop and CropPlanning: environment families on a growth model after LINTUL3."""
