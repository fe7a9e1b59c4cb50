"""Links of generalized kernel models: what each draws, its terms and its derivatives."""
