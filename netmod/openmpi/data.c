/* SPDX-License-Identifier: BSD-3-Clause */
/* From datatypes to bytes: in place where these lie in few pieces, else packed. */
#include "netmod/openmpi/pml_fci.h"

#include <opal/datatype/opal_convertor.h>

static void prepare_to_send(opal_convertor_t *convertor, const void *buffer, size_t count,
                            const ompi_datatype_t *datatype)
{
    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &datatype->super, count,
                                             buffer, 0, convertor);
}

static void prepare_to_receive(opal_convertor_t *convertor, void *buffer, size_t count,
                               const ompi_datatype_t *datatype)
{
    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &datatype->super, count,
                                             buffer, 0, convertor);
}

static void finish(opal_convertor_t *convertor)
{
    opal_convertor_cleanup(convertor);
    OBJ_DESTRUCT(convertor);
}

/* How many pieces there are, or 0: more than `ranges` can take. Uses the convertor up. */
static size_t pieces(opal_convertor_t *convertor, size_t bytes, struct iovec *ranges)
{
    uint32_t count = PML_FCI_RANGES;
    size_t length = bytes;
    (void) opal_convertor_raw(convertor, ranges, &count, &length);
    finish(convertor);
    return length == bytes ? count : 0;
}

static pml_fci_packed *new_packed(size_t bytes, pml_fci_data *data)
{
    pml_fci_packed *const packed = malloc(sizeof *packed + bytes);
    data->packed = packed;
    if (packed == NULL)
        return NULL;
    packed->datatype = NULL;
    data->count = 1;
    data->ranges[0] = (struct iovec) { packed->data, bytes };
    return packed;
}

int pml_fci_pack(const void *buffer, size_t count, ompi_datatype_t *datatype, void *where,
                 size_t bytes)
{
    struct iovec range = { where, bytes };
    uint32_t ranges = 1;
    size_t packed = bytes;
    opal_convertor_t convertor;
    prepare_to_send(&convertor, buffer, count, datatype);
    const int answer = opal_convertor_pack(&convertor, &range, &ranges, &packed);
    finish(&convertor);
    return answer < 0 || packed != bytes ? OMPI_ERROR : OMPI_SUCCESS;
}

int pml_fci_data_to_send(const void *buffer, size_t count, ompi_datatype_t *datatype,
                         pml_fci_data *data)
{
    opal_convertor_t convertor;
    data->packed = NULL;
    data->count = 1;
    if (OPAL_LIKELY(pml_fci_is_contiguous(buffer, count, datatype, &data->ranges[0])))
        return OMPI_SUCCESS;
    const size_t bytes = count * datatype->super.size;
    prepare_to_send(&convertor, buffer, count, datatype);
    data->count = pieces(&convertor, bytes, data->ranges);
    if (data->count > 0)
        return OMPI_SUCCESS;
    if (new_packed(bytes, data) == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    const int error = pml_fci_pack(buffer, count, datatype, data->packed->data, bytes);
    if (error != OMPI_SUCCESS)
        pml_fci_free_packed(data->packed);
    return error;
}

int pml_fci_data_to_receive(void *buffer, size_t count, ompi_datatype_t *datatype,
                            pml_fci_data *data)
{
    opal_convertor_t convertor;
    data->packed = NULL;
    data->count = 1;
    if (OPAL_LIKELY(pml_fci_is_contiguous(buffer, count, datatype, &data->ranges[0])))
        return OMPI_SUCCESS;
    const size_t bytes = count * datatype->super.size;
    prepare_to_receive(&convertor, buffer, count, datatype);
    data->count = pieces(&convertor, bytes, data->ranges);
    if (data->count > 0)
        return OMPI_SUCCESS;
    if (new_packed(bytes, data) == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    data->packed->datatype = datatype;
    data->packed->buffer = buffer;
    data->packed->count = count;
    OBJ_RETAIN(datatype);
    return OMPI_SUCCESS;
}

int pml_fci_unpack_from(const void *where, size_t bytes, void *buffer, size_t count,
                        ompi_datatype_t *datatype)
{
    struct iovec range = { (void *) where, bytes };
    uint32_t ranges = 1;
    size_t length = bytes;
    opal_convertor_t convertor;
    if (bytes == 0)
        return OMPI_SUCCESS;
    prepare_to_receive(&convertor, buffer, count, datatype);
    const int answer = opal_convertor_unpack(&convertor, &range, &ranges, &length);
    finish(&convertor);
    return answer < 0 ? OMPI_ERROR : OMPI_SUCCESS;
}

void pml_fci_unpack(pml_fci_packed *packed, size_t bytes)
{
    (void) pml_fci_unpack_from(packed->data, bytes, packed->buffer, packed->count,
                               packed->datatype);
}

void pml_fci_free_packed(pml_fci_packed *packed)
{
    if (packed != NULL && packed->datatype != NULL)
        OBJ_RELEASE(packed->datatype);
    free(packed);
}
