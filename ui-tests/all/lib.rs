//! Turns all features of `toolbox` on for the cases of the package above.
