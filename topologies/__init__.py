"""What a network is: units, frozen specs, one file per named shape. Pure data, nothing is run."""
