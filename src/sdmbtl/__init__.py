"""Structure detection and model-based transfer learning for contextual reinforcement learning."""
