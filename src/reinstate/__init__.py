"""Meta-learning agents with an episodic memory."""
