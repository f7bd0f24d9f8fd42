"""What all packages are built on: errors, units, frozen data, and files that strangers wrote."""
