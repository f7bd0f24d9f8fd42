"""The drawings of handouts, made from a lab's drawings.toml: sequence diagrams and graphs."""
