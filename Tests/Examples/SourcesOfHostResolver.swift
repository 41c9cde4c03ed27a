import DNSWire
import HostResolver

enum SourcesOfHostResolver {
    static var resolver: WireResolver { WireResolver() }
    static var record: DNSRecord { preconditionFailure("only compiled") }
    static var address: InterfaceAddress { preconditionFailure("only compiled") }
    static var bytes: [UInt8] { [] }
    static var descriptor: Int32 { 0 }
}
