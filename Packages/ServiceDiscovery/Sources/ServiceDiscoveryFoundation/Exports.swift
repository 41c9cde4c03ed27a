// TXTRecord, ServiceInstance and the errors are part of this API, so that one import is enough.
@_exported public import ServiceDiscovery
