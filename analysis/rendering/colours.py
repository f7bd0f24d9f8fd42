"""The colour-blind-safe colours of Okabe and Ito (2008): https://jfly.uni-koeln.de/color/

templates/plots/theme.js has a lighter twin of each for a dark ground.
"""

BLACK, BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY = (
    "#000000",
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#666666",
)
