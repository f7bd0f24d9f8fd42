"""What is built once: recipes, the cache of what they made, and carrying it to other machines."""
