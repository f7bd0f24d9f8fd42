"""The lab: kernel and image, each by its recipe, and what is missing of them."""
