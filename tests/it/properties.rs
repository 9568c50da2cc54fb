//! What holds of every run, whatever is in it.
mod partition;
mod receipts;
mod resumption;
mod shapes;
