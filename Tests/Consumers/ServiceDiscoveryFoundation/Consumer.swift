import Foundation
import ServiceDiscoveryFoundation

/// Publishes what cannot be published, which needs no network, and prints what its delegate is told.
final class Consumer: NSObject, NetServiceDelegate {
    private var isDone = false

    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        let isBad = errorDict[NetService.errorCode]?.intValue == NetService.ErrorCode.badArgumentError.rawValue
        print("\(sender.name) has \(sender.txtRecordData()?.count ?? 0) bytes, \(isBad ? "and a bad type" : "?")")
        isDone = true
    }

    func run() {
        let service = NetService(domain: "", type: "http", name: "Status", port: 80)
        service.delegate = self
        _ = service.setTXTRecord(NetService.data(fromTXTRecord: ["path": Data("/".utf8)]))
        service.publish()
        let end = Date() + 60
        while !isDone, Date() < end { _ = RunLoop.current.run(mode: .default, before: end) }
    }
}

@main struct Main {
    static func main() {
        Consumer().run()
    }
}
