pub const SOURCE: &str = include_str!("main.rs");
