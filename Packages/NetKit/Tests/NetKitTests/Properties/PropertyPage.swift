import NetKit
import StreamKit

/// The page "Which stream honours which property", made of the tables that the streams themselves go by.
enum PropertyPage {
    static func text(_ kinds: [StreamKind]) -> String {
        let members = Dictionary(uniqueKeysWithValues: PublicProperty.all.map { ($0.name, $0) })
        var page = """
            # Which stream honours which property

            Setting a property that a stream does not honour throws an error that names both.

            ## Overview

            This page is made from the tables that the streams go by (`StreamKind`), and a test compares it with them. It also tries
            every property with every kind of stream, before and after opening, and observes the effect of each one that is
            honoured.

            - A property in the second column is set until the stream is opened, one in the third until it is closed.
            - A property in the last column is returned, and never set.
            - On an HTTP request, `tls` says how TLS is done, and the URL whether it is (`urlDemandsTLS`). For an `http` URL it
              holds for redirects to `https`; where none is followed, opening throws. Foundation's streams over an `http` URL refuse it.
            - A property in *italics* makes a connection another one: streams that differ in it share no connection.
            - Your own keys, made with `StreamProperty(_:access:default:)`, are kept and returned by every stream and change
              nothing. So are the properties about the cost of interfaces, about which Linux knows nothing:
              \(names(PublicProperty.all.filter(\.isNote))).
            - Properties that are handed over when a stream is made follow the same rule: opening it throws.
            - A transport of your own may take further properties; see `StreamTransport.setProperty(_:named:)`.
            - With the trait `Logging`, every stream that connects honours `logger`.

            | Stream | Set until opened | Set until closed | Returned |
            |---|---|---|---|

            """
        for kind in kinds {
            // Which has a line of its own above: the page is the same with and without the trait.
            let rows = kind.properties.names.compactMap { members[$0] }.filter { $0.member != "logger" }
            let settable = rows.filter { kind.properties.honours($0.name) }
            let told = rows.filter { !kind.properties.honours($0.name) }
            func cell(_ properties: [PublicProperty]) -> String {
                properties.sorted { $0.member < $1.member }.map { property in
                    let isShape = kind.properties.role(of: property.name) == .connecting
                    return isShape ? "*\(property.member)*" : "`\(property.member)`"
                }.joined(separator: ", ")
            }
            page += "| \(kind.name) | \(cell(settable.filter { !$0.isAlways })) | \(cell(settable.filter(\.isAlways))) "
            page += "| \(cell(told)) |\n"
        }
        return page
    }

    private static func names(_ properties: [PublicProperty]) -> String {
        properties.map { "`\($0.member)`" }.joined(separator: ", ")
    }
}
