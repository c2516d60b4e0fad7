#!/usr/bin/env python3
"""Writes tests/reference/images: small image files, their pixels as read by Pillow, and the results of Pillow's
resizing and colour operations on one of them.

    pip install pillow numpy
    python3 scripts/make_image_reference.py
"""
import json
import pathlib

import numpy
from PIL import Image, ImageEnhance, ImageOps

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/images"
WIDTH, HEIGHT = 16, 12


def picture():
    """A few shapes over a gradient, and some noise."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    noise = numpy.random.default_rng(0).integers(0, 40, (HEIGHT, WIDTH, 3))
    base = numpy.stack([x * 13, y * 17, (x + y) * 8], 2)
    base[3:8, 4:9] = [200, 40, 90]
    return Image.fromarray((base + noise).clip(0, 255).astype("uint8"))


def described(image):
    values = numpy.asarray(image)
    return {"height": image.height, "width": image.width, "channels": 1 if values.ndim == 2 else values.shape[2],
            "pixels": values.astype("uint8").tobytes().hex()}


def write_files(image):
    """Every supported kind of file, by name, with the expected pixels."""
    grey = image.convert("L")
    see_through = image.copy()
    see_through.putalpha(grey)
    deep = Image.fromarray((numpy.asarray(grey).astype("uint16") * 256 + 77))
    kinds = {"colours.png": (image, {}, image), "grey.png": (grey, {}, grey), "alpha.png": (see_through, {}, image),
             "palette.png": (image.quantize(16), {}, image.quantize(16).convert("RGB")),
             "bits.png": (grey.point(lambda v: 255 * (v > 90)).convert("1"), {},
                          grey.point(lambda v: 255 * (v > 90))),
             "deep.png": (deep, {}, grey),
             "colours.ppm": (image, {}, image), "grey.pgm": (grey, {}, grey),
             "colours.jpg": (image, {"quality": 90}, None), "grey.jpg": (grey, {"quality": 90}, None),
             "progressive.jpg": (image, {"quality": 80, "progressive": True}, None),
             "ink.jpg": (image.convert("CMYK"), {"quality": 95}, None),
             "lossy.webp": (image, {"quality": 80}, None), "lossless.webp": (image, {"lossless": True}, image),
             "alpha.webp": (see_through, {"lossless": True, "exact": True}, image)}
    expected = {}
    for name, (source, options, pixels) in kinds.items():
        source.save(FOLDER / name, **options)
        if pixels is None:
            pixels = Image.open(FOLDER / name)
            pixels = pixels.convert("RGB") if pixels.mode != "L" else pixels
        expected[name] = described(pixels)
    return expected


def resized(image):
    filters = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
    return [{"filter": word, **described(image.resize((width, height), number))}
            for word, number in filters.items()
            for height, width in [(5, 7), (30, 40), (20, 16), (12, 9), (3, 33)]]


def changed(image):
    made = {"brightness": ImageEnhance.Brightness(image).enhance(1.4),
            "contrast": ImageEnhance.Contrast(image).enhance(0.5), "saturation": ImageEnhance.Color(image).enhance(1.7),
            "sharpness": ImageEnhance.Sharpness(image).enhance(0.3), "posterized": ImageOps.posterize(image, 3),
            "solarized": ImageOps.solarize(image, 100), "stretched": ImageOps.autocontrast(image),
            "equalized": ImageOps.equalize(image), "grey": image.convert("L"), "mirrored": ImageOps.mirror(image),
            "turned": image.rotate(20, Image.BILINEAR),
            "sheared": image.transform(image.size, Image.AFFINE, (1, 0.2, 0, 0, 1, 0), Image.BILINEAR),
            "moved": image.transform(image.size, Image.AFFINE, (1, 0, -2.5, 0, 1, 0), Image.BILINEAR)}
    return {name: described(result) for name, result in made.items()}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    image = picture()
    image.save(FOLDER / "animated.webp", save_all=True, append_images=[ImageOps.mirror(image)])  # for the message
    found = {"source": described(image), "files": write_files(image), "resized": resized(image),
             "changed": changed(image)}
    (FOLDER / "expected.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
