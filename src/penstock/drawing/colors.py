"""The colours of pictures, which people who see red and green alike can tell apart."""

BLUE, ORANGE, GREEN, PURPLE, SKY, INK, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#56b4e9", "#222222", "#8a8a8a",
)  # fmt: skip
