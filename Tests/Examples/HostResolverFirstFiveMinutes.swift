import HostResolver

enum HostResolverFirstFiveMinutes {
    static var text: String { "" }
    static func connect(to addresses: [IPAddress]) {}
}
