// DeliveryTarget and EventLoop stand in the public API: one import is enough for who depends on this package alone.
@_exported public import EventLoops
