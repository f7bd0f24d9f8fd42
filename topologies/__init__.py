"""Networks as data: units, frozen specs, and a module for each named shape."""
