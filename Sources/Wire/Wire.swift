/// The room Wire.
