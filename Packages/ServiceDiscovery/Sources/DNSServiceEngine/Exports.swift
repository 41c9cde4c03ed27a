// The functions of dns_sd.h: their implementations here are no second declarations of them.
@_exported public import DNSServiceC
