"""Pictures as they are written into a page: the same pixels in fewer bytes, for a page has many and is sent by mail."""

import base64
import io

from workbench.untrusted import escaped


def data_uri(png: str) -> str:
    """The `src` of a picture given as PNG in base64: lossless WebP, about 0.7 of the size, where Pillow can."""
    from PIL import Image, UnidentifiedImageError, features

    as_png = f"data:image/png;base64,{escaped(png, len(png))}"
    if not features.check("webp"):
        return as_png
    file = io.BytesIO()
    try:
        Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").save(
            file, "WEBP", lossless=True, quality=80
        )
    except (ValueError, UnidentifiedImageError):
        return as_png
    as_webp = f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"
    return min(as_png, as_webp, key=len)
