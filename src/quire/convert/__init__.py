"""Front door of conversion: PDF to XML through a gateway, and the gateway itself."""

from quire.convert.application.answer_checks import AnswerChecks
from quire.convert.application.convert_pdf import ConvertParts
from quire.convert.application.create_conversion import AcceptanceDesk, create_conversion
from quire.convert.application.file_sweeper import FileSweeper
from quire.convert.application.step_log import log_step, log_transition
from quire.convert.application.upload_desk import UploadDesk
from quire.convert.domain.conversion import KIND, Conversion
from quire.convert.domain.mapping_list import MappingList
from quire.convert.presentation.handlers.convert_xml import accepting_convert_handler, convert_handler

__all__ = [
    "KIND",
    "AcceptanceDesk",
    "AnswerChecks",
    "Conversion",
    "ConvertParts",
    "FileSweeper",
    "MappingList",
    "UploadDesk",
    "accepting_convert_handler",
    "convert_handler",
    "create_conversion",
    "log_step",
    "log_transition",
]
