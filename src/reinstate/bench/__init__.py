"""Benchmarks: speed against size, rivals in the same process, floors, and where the time goes.

timing      programs take turns; medians and quartiles; compilation by stage; memory
cases       an experiment and an agent at one size, as programs that train and judge
floors      the operations and bytes of a step, and what this machine does of each
parts       an epoch's time, by what is done in it
pytorch     the same learner in PyTorch, as its users would write it
starting    what a user waits for: the first progress line, and a reward
charts      one figure per curve
bench       all of it, as one document
"""
