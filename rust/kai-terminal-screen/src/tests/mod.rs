//! Properties: what holds for every input, checked against slow and simple models.

mod line;
mod streams;
