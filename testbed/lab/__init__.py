"""The lab: kernel and image, each made by its recipe, and which parts are missing."""
