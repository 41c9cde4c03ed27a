// DeliveryTarget, EventLoop and IPAddress appear in the public API. Users of this package alone need one import. The records
// of WireResolver need a second one, DNSWire.
@_exported public import EventLoops
@_exported public import IPAddresses
