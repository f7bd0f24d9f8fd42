"""The lab: kernel and image, built from recipes, kept in the cache, carried to other machines."""
