// DeliveryTarget and EventLoop appear in the public API. Users of this package alone need one import.
@_exported public import EventLoops
