"""The contest: episodic reinstatement against memories that last an epoch."""
