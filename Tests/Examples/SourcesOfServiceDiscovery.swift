import ServiceDiscoveryFoundation

enum SourcesOfServiceDiscovery {
    static var type: ServiceType { preconditionFailure("only compiled") }
    static var service: ServiceInstance { preconditionFailure("only compiled") }
    static var record: TXTRecord { TXTRecord() }
    static var delegate: (any NetServiceDelegate & NetServiceBrowserDelegate)? { nil }
}
