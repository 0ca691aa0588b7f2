"""The experiments of the paper: data sets, runs, results, tables and figures."""
