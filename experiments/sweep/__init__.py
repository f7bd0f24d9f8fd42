"""Many runs: grids of settings, kernels compared, published numbers reproduced."""
