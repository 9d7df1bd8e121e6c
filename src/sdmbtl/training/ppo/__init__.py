"""Proximal policy optimisation with JAX, in two forms with the same settings and policies.

Environments that are written in JAX are compiled too, and many policies are trained at once
(`jax_env.JaxEnvPPO`). All others are stepped by Python, and only the learning is compiled
(`gymnasium_env.GymnasiumPPO`).
"""
