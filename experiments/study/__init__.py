"""What an experiment is: data, its parameters, its grid, and where studies are found."""
