"""Which hyper-parameters suit an experiment: many settings trained side by side."""
