"""What a network is: units, frozen specs, a module for each named shape. Data; nothing is run."""
