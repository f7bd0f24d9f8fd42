"""A lab's runs measured and remembered, in processes of their own."""
