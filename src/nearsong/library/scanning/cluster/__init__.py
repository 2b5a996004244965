"""A scan on a Dask cluster: batches of files for workers that analyse and write them."""
