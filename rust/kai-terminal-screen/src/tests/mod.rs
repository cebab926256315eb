//! Properties: what holds for every input, checked against slow and simple models.

mod grammar;
mod line;
mod streams;
