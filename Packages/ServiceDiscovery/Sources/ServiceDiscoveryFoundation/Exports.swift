// TXTRecord, ServiceInstance and the errors stand beside what is here: one import is enough.
@_exported public import ServiceDiscovery
