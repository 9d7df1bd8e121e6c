"""See policies act: pictures of episodes, side by side, as a file or in a window.

Needs Pillow, which Matplotlib brings: `pip install 'sdmbtl[plots]'`.
"""

from sdmbtl.animation.episodes import Shot, film_episode, show_episode
from sdmbtl.animation.files import save_animation
from sdmbtl.animation.side_by_side import film_side_by_side

__all__ = ["Shot", "film_episode", "film_side_by_side", "save_animation", "show_episode"]
