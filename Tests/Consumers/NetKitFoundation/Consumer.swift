import Foundation
import NetKitFoundation

/// Makes streams to services without opening them, which needs no network.
@main struct Consumer {
    static func main() {
        print("\(count(ofType: "_ntp._udp")) streams to a clock, \(count(ofType: "_ipp._tcp")) to a printer")
    }

    private static func count(ofType type: String) -> String {
        let service = NetService(domain: "local.", type: type, name: "Office")
        var input: InputStream?
        var output: OutputStream?
        guard service.getInputStream(&input, outputStream: &output) else { return "no" }
        return input?.streamStatus == .notOpen && output?.streamStatus == .notOpen ? "two" : "?"
    }
}
