# SPDX-License-Identifier: MIT
"""Image.show() of PIL becomes an artifact: PIL asks its viewers, and ours comes first."""
import io

from . import artifacts


def imported(name, module):
    class Viewer(module.Viewer):
        def show(self, image, title=None, **options):
            try:
                artifacts.add_bytes(png_of(image), "png", "plot", "pil", title=title)
            except Exception:
                pass
            return True
    module.register(Viewer(), 0)


def png_of(image):
    buffer = io.BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGB")
    image.save(buffer, format="PNG")
    return buffer.getvalue()
