"""An experiment run from outside: seeds, sessions, and the folder that keeps runs."""
