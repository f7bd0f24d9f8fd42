"""Pages of reproductions of published studies."""
