import ServiceDiscovery

enum ServiceDiscoveryFirstFiveMinutes {
    static var browser: ServiceBrowser { ServiceBrowser(try! ServiceType("_http._tcp")) }
    static var service: ServiceInstance { preconditionFailure("only compiled") }
}
