import FTPListing
import Foundation
import Peers
import Testing

/// The listings of `ls`, which Unix servers send or imitate.
struct ListingPeerTests {
    private func list(_ path: String, at time: String) async throws -> [UInt8] {
        // With the clock of the server at that time, in UTC. Only the clock: newer versions of faketime move the times of files as well.
        let environment = ["NO_FAKE_STAT=1", "TZ=UTC", "LC_ALL=C"]
        return try await Command(
            Program("env", package: "coreutils"), environment + ["faketime", time, "ls", "-la", path]
        )
        .run().output
    }

    /// `ls` writes the time of dates within six months, otherwise the year; a time without a year is in the last twelve months.
    // Parity: FT-069, FT-071 (GNU ls, faketime)
    @Test(arguments: [("2025-01-02 12:00:00", Int64(1_735_819_200)), ("2024-12-31 12:00:00", 1_735_646_400)])
    func bothSidesOfNewYear(_ time: String, _ now: Int64) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("listing-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let dates = [
            "2024-12-30 23:59", "2024-12-31 00:00", "2025-01-01 00:01", "2024-07-10 10:00", "2024-01-05 09:30",
            "2023-06-01 08:00",
        ]
        for date in dates {
            _ = try await Command("touch", "-d", "\(date) UTC", "\(folder)/\(date)").run()
        }
        _ = try await Command("mkfifo", "\(folder)/pipe").run()
        _ = try await Command("ln", "-s", "some where", "\(folder)/link").run()
        let entries = try ListingParser.entries(of: try await list(folder, at: time), ListingOptions(now: now))
        #expect(entries.count == dates.count + 4)
        for date in dates {
            let found = try #require(entries.first { $0.name == date }?.date, "\(date)")
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            var text = "\(found.year)-\(two(found.month))-\(two(found.day))"
            if found.precision == .minute { text += " \(two(found.hour)):\(two(found.minute))" }
            #expect(date.hasPrefix(text), "\(date) at \(time): \(text)")
        }
        #expect(entries.first { $0.name == "pipe" }?.kind == .fifo)
        let link = entries.first { $0.kind == .link }
        #expect(link?.name == "link" && link?.linkTarget == "some where")
        #expect(entries.first { $0.name == "." }?.relation == .current)
        let devices = try ListingParser.entries(of: try await list("/dev/null", at: time), ListingOptions(now: now))
        #expect(devices.first?.kind == .characterDevice)
    }
}
