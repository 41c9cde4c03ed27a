// The machines' interface consists of the values of these modules.
@_exported public import HPACK
@_exported public import HTTPMessage
